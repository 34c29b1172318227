/* Floor of a hit: a program that looks at one file and says so. */
#include <stdio.h>
#include <sys/stat.h>

int main(int argc, char **argv)
{
    struct stat st;

    if (argc != 2 || lstat(argv[1], &st))
        return 1;
    printf("ready %s\n", argv[1]);
    return 0;
}
