job "web" {
  group = "api"
  type {}

  meta {
    owner = ["a", "b"]
  }

  periodic {
    enabled = "perhaps"
  }
}
