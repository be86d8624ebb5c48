job "j" {
  group "g" {
    update = { canary = 1 }
  }
}
