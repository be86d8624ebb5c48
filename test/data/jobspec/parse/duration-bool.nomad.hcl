job "j" {
  group "g" {
    shutdown_delay = true
  }
}
