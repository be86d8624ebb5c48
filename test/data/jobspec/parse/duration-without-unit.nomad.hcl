job "j" {
  group "g" {
    shutdown_delay = "30"
  }
}
