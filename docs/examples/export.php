<?php

// Serves exports from a PHP site: export.php?title=Candide

/** Asks for one file. The answer has a 'state', and for 'ready' a 'path'. */
function pressroom_request(string $exporter, array $values, ?string $client = null): array
{
    $command = ['pressroom', 'request', $exporter, '--format', 'json'];
    foreach ($values as $name => $value) {
        $command[] = "$name=$value";
    }
    if ($client !== null) {
        $command[] = "--client=$client";
    }
    // An array (PHP 7.4 and later) and no shell: nothing in a value can become a command.
    $process = proc_open($command, [0 => ['file', '/dev/null', 'r'], 1 => ['pipe', 'w']], $pipes);
    $answer = $process ? json_decode(stream_get_contents($pipes[1]), true) : null;
    if ($process) {
        proc_close($process); // the exit status says what 'state' says
    }
    return $answer ?? ['state' => 'unavailable', 'reason' => 'exports are not set up correctly'];
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
if ($state === 'ready') {
    header('Content-Type: ' . $answer['content_type']);
    header('Content-Length: ' . $answer['size']);
    readfile($answer['path']);
    return;
}

http_response_code(STATUS[$state] ?? 503);
$wait = $answer['retry_after'] ?? 5;
header('Content-Type: text/html; charset=utf-8');
header('Cache-Control: no-store');
header("Retry-After: $wait");
if ($state === 'queued' || $state === 'started') {
    header("Refresh: $wait"); // the browser asks again by itself
}
// The message may come from an exporter, and that may have it from the text: escape it.
echo '<p>', htmlspecialchars($answer['message'] ?? $state), '</p>', "\n";
