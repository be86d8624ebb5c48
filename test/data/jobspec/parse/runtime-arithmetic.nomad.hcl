job "j" {
  group "g" {
    count = NOMAD_X + 1
  }
}
