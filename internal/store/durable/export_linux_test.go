package durable

var CheckMagic = checkMagic
