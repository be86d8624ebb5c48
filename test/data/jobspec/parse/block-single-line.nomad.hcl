job "j" {
  group "g" {
    restart { attempts = 1 }
    ephemeral_disk {}
  }
}
