job "j" {

}
job "k" {

}
