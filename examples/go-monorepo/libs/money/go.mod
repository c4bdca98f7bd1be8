module example.org/shop/money

go 1.26
