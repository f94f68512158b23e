def handler(order, _):
    return order["Text"]
