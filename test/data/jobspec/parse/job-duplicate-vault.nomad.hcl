job "j" {
  vault {
    policies = ["a"]
  }
  vault {
    policies = ["b"]
  }
}
