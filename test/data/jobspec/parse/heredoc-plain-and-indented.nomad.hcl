job "j" {
  group "g" {
    task "t" {
      driver = "exec"
      template {
        destination = "a"
        data = <<EOF
  line \n "q" {{ key "x" }}
${NOMAD_PORT_http} $${lit} %%{lit}
        EOF
      }
      template {
        destination = "b"
        data = <<-EOF
          two
            four

          end
        EOF
      }
      template {
        destination = "c"
        data = <<EOF
EOF
      }
    }
  }
}
