variable "1a" {
  default = 1
}
job "j" {

}
