job "web" {
  name = 'web'
}
