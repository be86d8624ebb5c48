job "j" {
  group "g" {
    network "x" {
    }
  }
}
