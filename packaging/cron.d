# Pressroom starts nothing before one of these lines is chosen: remove its `#`.
# With systemd, `systemctl enable --now pressroom.timer` does the same in place of cron; choose one of the two.

PATH=/usr/sbin:/usr/bin:/sbin:/bin
# A good round prints nothing. What cron mails is a job that has newly failed, or a configuration that cannot be used.
MAILTO=root

# Recommended: stays for a minute and starts each job as soon as it is asked for; the next one takes over without a gap.
#* * * * * pressroom [ ! -x /usr/bin/pressroom ] || pressroom tick --for 60s

# Or one round a minute: nothing of Pressroom runs in between, and a visitor waits up to a minute for the start.
#* * * * * pressroom [ ! -x /usr/bin/pressroom ] || pressroom tick
