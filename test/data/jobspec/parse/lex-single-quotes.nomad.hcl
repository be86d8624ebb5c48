job "j" {
  type = 'batch'
}
