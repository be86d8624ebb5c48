job "j" {
  constraint {
    distinct_hosts = "x"
  }
}
