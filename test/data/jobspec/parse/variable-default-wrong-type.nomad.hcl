variable "a" {
  type    = number
  default = "x"
}
job "j" {

}
