module example.org/shop/invoices

go 1.26

require example.org/shop/money v0.0.0

replace example.org/shop/money => ../../libs/money
