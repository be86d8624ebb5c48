job "j" {
  group "g" {
    task "t" {
      driver = "exec"
      template {
        data = <<EOF 
x
EOF
      }
    }
  }
}
