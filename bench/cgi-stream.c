/* Floor of a streamed CGI answer: the file that BENCH_FILE names, read and written in pieces of 64 KiB. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int main(void)
{
    static char piece[65536];
    const char *path = getenv("BENCH_FILE");
    struct stat st;
    ssize_t length;
    int fd = path ? open(path, O_RDONLY) : -1;

    if (fd < 0 || fstat(fd, &st))
        return 1;
    printf("Content-Type: application/octet-stream\r\nContent-Length: %lld\r\n\r\n", (long long)st.st_size);
    fflush(stdout);
    while ((length = read(fd, piece, sizeof piece)) > 0)
        for (ssize_t done = 0, now; done < length; done += now)
            if ((now = write(1, piece + done, length - done)) < 0)
                return 1;
    return length != 0;
}
