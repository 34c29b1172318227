/* An exporter that tells when it began: the monotonic clock in nanoseconds, one line into the FIFO of its first
 * argument. A second argument names an output file to make. */
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct timespec now;
    char line[32];
    int length, fd;

    clock_gettime(CLOCK_MONOTONIC, &now);
    if (argc < 2)
        return 64;
    length = snprintf(line, sizeof line, "%lld\n", now.tv_sec * 1000000000LL + now.tv_nsec);
    fd = open(argv[1], O_WRONLY);
    if (fd < 0 || write(fd, line, length) != length)
        return 1;
    if (argc == 2)
        return 0;
    fd = open(argv[2], O_WRONLY | O_CREAT | O_EXCL, 0600);
    return fd < 0 || write(fd, line, length) != length;
}
