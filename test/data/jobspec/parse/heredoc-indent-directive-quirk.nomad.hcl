job "j" {
  group "g" {
    task "t" {
      driver = "exec"
      template {
        destination = "a"
        data = <<-EOF
          %{~ if true }
          a
          %{~ endif }
        EOF
      }
    }
  }
}
