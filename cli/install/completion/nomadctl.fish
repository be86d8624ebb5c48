# fish: what can follow on a line of nomadctl. The program knows it, and is asked each time.
function __nomadctl_complete
    set -lx COMP_LINE (commandline -cp | string collect)
    set -lx COMP_DESCRIBED 1
    command nomadctl 2>/dev/null
end
complete -c nomadctl -f -a '(__nomadctl_complete)'
