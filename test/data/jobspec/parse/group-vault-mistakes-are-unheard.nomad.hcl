job "j" {
  group "g" {
    vault {
      policies = ["a"]
      role     = "r"
    }
    task "t" {}
  }
}
