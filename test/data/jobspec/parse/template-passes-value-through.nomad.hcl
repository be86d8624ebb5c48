job "j" {
  group "g" {
    task "t" {
      driver = "exec"
      config {
        list = "${["a", 1]}"
        num  = "${5}"
        text = "x${5}"
      }
    }
  }
}
