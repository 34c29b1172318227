/* Floor of anything durable: append one page to a file and wait until the disk has it. */
#include <fcntl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    static const char page[4096] = "x";
    int fd = argc == 2 ? open(argv[1], O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;

    return fd < 0 || write(fd, page, sizeof page) != sizeof page || fdatasync(fd);
}
