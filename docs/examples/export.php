<?php

// Serves exports from a PHP site: export.php?title=Candide

// php-fpm hands a page no environment and no PATH, so both are named here by their full paths.
const PRESSROOM = '/usr/local/bin/pressroom';
const CONFIG = '/etc/pressroom/pressroom.toml';
// The page stops asking after so many seconds: somebody may have forgotten it in a tab.
const PATIENCE = 1800;

/** Asks for one file. The answer has a 'state', and for 'ready' a 'path'. */
function pressroom_request(string $exporter, array $values, ?string $client = null): array
{
    $command = [PRESSROOM, '--config', CONFIG, 'request', $exporter, '--format', 'json'];
    foreach ($values as $name => $value) {
        if (strpos($value, "\0") !== false) { // no argument can hold one
            return ['state' => 'invalid', 'reason' => "parameter $name contains a control character"];
        }
        $command[] = "$name=$value";
    }
    if ($client !== null) {
        $command[] = "--client=$client";
    }
    // An array (PHP 7.4 and later) and no shell: nothing in a value can become a command.
    $errors = tmpfile();
    $process = @proc_open($command, [0 => ['file', '/dev/null', 'r'], 1 => ['pipe', 'w'], 2 => $errors], $pipes);
    if (!$process) {
        error_log('export.php: cannot start ' . PRESSROOM . ': ' . (error_get_last()['message'] ?? 'unknown error'));
        return ['state' => 'unavailable'];
    }
    $text = stream_get_contents($pipes[1]);
    $status = proc_close($process);
    $answer = json_decode($text, true);
    // Any other status is no answer to a visitor, and the log says why.
    if (!is_array($answer) || !in_array($status, [0, 65, 66, 69, 70, 75], true)) {
        rewind($errors);
        $line = trim((string) fgets($errors)) ?: trim((string) strtok($text, "\n")) ?: 'it said nothing';
        error_log('export.php: ' . PRESSROOM . " ended with status $status: $line");
        return ['state' => 'unavailable'];
    }
    return $answer;
}

/** The header that saves a file under its name, in ASCII for old programs and as it is. */
function attachment(string $name): string
{
    $plain = preg_replace('/[^ -~]|["\\\\%]/u', '_', $name) ?? 'export';
    return "Content-Disposition: attachment; filename=\"$plain\"; filename*=UTF-8''" . rawurlencode($name);
}

const STATUS = [
    'queued' => 202, 'started' => 202, 'invalid' => 400, 'absent' => 404, 'limited' => 429,
    'failed_unknown' => 500, 'unavailable' => 503, 'failed_timeout' => 504,
];

// REMOTE_ADDR is set by the server. PHP_AUTH_USER and REMOTE_USER are whatever a visitor claims, unless the server has
// asked for a password.
$title = is_string($_GET['title'] ?? null) ? $_GET['title'] : '';
$answer = pressroom_request('epub', ['title' => $title, 'lang' => 'en'], $_SERVER['REMOTE_ADDR'] ?? null);
$state = $answer['state'];
$file = $state === 'ready' ? fopen($answer['path'], 'rb') : false; // at once: it may be pruned some minutes from now
if ($file) {
    header('Content-Type: ' . $answer['content_type']);
    header('Content-Length: ' . $answer['size']);
    header(attachment($answer['title']));
    header('X-Content-Type-Options: nosniff');
    fpassthru($file);
    return;
}

http_response_code(STATUS[$state] ?? 503);
$wait = $answer['retry_after'] ?? 5;
header('Content-Type: text/html; charset=utf-8');
header('Cache-Control: no-store');
header("Retry-After: $wait");
$since = is_string($_GET['since'] ?? null) && ctype_digit($_GET['since']) ? (int) $_GET['since'] : time();
$again = '?' . http_build_query(['title' => $title, 'since' => $since]);
if (in_array($state, ['queued', 'started'], true) && time() - $since < PATIENCE) {
    header("Refresh: $wait; url=$again"); // the browser asks again by itself
}
// The message may come from an exporter, and that may have it from the text: escape it.
echo '<p>', htmlspecialchars($answer['message'] ?? $state), '</p>', "\n";
echo '<p><a href="?', htmlspecialchars(http_build_query(['title' => $title])), '">Ask again</a></p>', "\n";
