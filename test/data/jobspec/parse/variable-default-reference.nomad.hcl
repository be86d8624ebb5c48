variable "a" {
  default = var.b
}
job "j" {

}
