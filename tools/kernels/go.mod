module github.com/memsidecar/memsidecar/tools/kernels

go 1.26.0
