/* Floor of a CGI answer: three bytes. */
#include <stdio.h>

int main(void)
{
    fputs("Content-Type: application/octet-stream\r\nContent-Length: 3\r\n\r\nabc", stdout);
    return 0;
}
