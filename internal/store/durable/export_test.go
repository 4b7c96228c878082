package durable

var WriteZeros = writeZeros
