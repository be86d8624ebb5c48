job "web" {
  group "g" {
    task "t" {
      template {
        data = <<EOT
never
ended
      }
    }
  }
}
