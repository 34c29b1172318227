/* Runs a program and prints the most memory that it had resident, in KiB. Small and static, since what the kernel
 * reports is never less than what the process had before it became the other program. */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct rusage used;
    int status;
    pid_t child;

    if (argc < 2 || (child = fork()) < 0)
        return 64;
    if (child == 0) {
        dup2(2, 1); /* stdout is for the number */
        execv(argv[1], argv + 1);
        _exit(127);
    }
    if (wait4(child, &status, 0, &used) < 0)
        return 1;
    printf("%ld\n", used.ru_maxrss);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
