job "j" {
  group "g" {
    shutdown_delay = "1h30m"
    max_client_disconnect = 5000000000
    restart {
      interval = "-1.5s"
      delay    = "300ms"
    }
  }
}
