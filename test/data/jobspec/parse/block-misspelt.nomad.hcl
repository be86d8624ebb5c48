job "j" {
  group "g" {
    netwrok {
    }
  }
}
