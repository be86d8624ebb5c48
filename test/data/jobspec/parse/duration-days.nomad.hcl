job "j" {
  group "g" {
    shutdown_delay = "1d"
  }
}
