job "j" {
  group "g" {
    task "t" {
      driver = "exec"
      lifecycle {}
      vault {}
      csi_plugin {}
    }
  }
}
