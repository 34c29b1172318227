/* The smallest exporter: a file with one byte in it. */
#include <fcntl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int fd = argc == 2 ? open(argv[1], O_WRONLY | O_CREAT | O_EXCL, 0600) : -1;

    return fd < 0 || write(fd, "x", 1) != 1;
}
