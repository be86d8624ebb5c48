job "a" "b" {}
