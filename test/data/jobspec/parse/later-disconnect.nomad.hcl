job "j" {
  group "g" {
    disconnect {
      lost_after = "1m"
    }
  }
}
