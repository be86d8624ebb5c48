job "j" {
  group "g" {
    update { canary = 1, max_parallel = 2 }
  }
}
