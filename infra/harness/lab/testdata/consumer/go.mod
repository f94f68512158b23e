module consumer

go 1.25
