job "j" {
  type = "nonsense"
  group "g" {
    task "t" {}
  }
}
