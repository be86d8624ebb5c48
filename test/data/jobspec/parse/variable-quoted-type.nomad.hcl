variable "a" {
  type    = "string"
  default = "x"
}
job "j" {

}
