job "j" {
  group "g" {
    task "t" {
      driver = "exec"
      config {
        args = [<<A
one
A
        , "two"]
      }
    }
  }
}
