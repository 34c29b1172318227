/* An exporter that does nothing until it is ended. With an argument so many children of it do nothing as well. */
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int children = argc > 1 ? atoi(argv[1]) : 0;

    while (children-- > 0 && fork() != 0)
        ;
    for (;;)
        pause();
}
