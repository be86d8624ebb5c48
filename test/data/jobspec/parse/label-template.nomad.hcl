job "a${1}" {}
