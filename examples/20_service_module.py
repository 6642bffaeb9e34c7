"""
Turn a module of fifteen plain functions, written for a shop and not for a model, into tools.

No function changes: each keeps its database as the first parameter, and the rest of the shop calls it as before. The
catalog says which functions read, which write and which cannot be undone, and where the database comes from.
"""

import asyncio
import logging
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from datetime import date
from functools import partial
from pathlib import Path
from sqlite3 import Connection
from typing import Any, TypedDict

from toolkit import Catalog, Decision, Dispatcher, Permissions

# The module, as it was.


class Product(TypedDict):
    """A product, its price in cents and how many there are."""

    name: str
    cents: int
    stock: int


def list_products(db: Connection) -> list[Product]:
    """List all products."""
    return [Product(name=name, cents=cents, stock=stock) for name, cents, stock in db.execute("SELECT * FROM product")]


def get_product(db: Connection, name: str) -> Product:
    """Look up one product."""
    for product in list_products(db):
        if product["name"] == name:
            return product
    raise LookupError(f"there is no product {name!r}; the products are {[p['name'] for p in list_products(db)]}")


def find_products(db: Connection, word: str, max_cents: int | None = None) -> list[Product]:
    """Find products by a part of their name, and by their price."""
    return [p for p in list_products(db) if word in p["name"] and (max_cents is None or p["cents"] <= max_cents)]


def low_stock(db: Connection, below: int = 5) -> list[Product]:
    """List the products that run out."""
    return [product for product in list_products(db) if product["stock"] < below]


def stock_value(db: Connection) -> int:
    """Tell what all products in stock are worth, in cents."""
    return sum(product["cents"] * product["stock"] for product in list_products(db))


def add_product(db: Connection, name: str, cents: int, stock: int = 0) -> Product:
    """Offer a new product."""
    db.execute("INSERT INTO product VALUES (?, ?, ?)", (name, cents, stock))
    return get_product(db, name)


def set_price(db: Connection, name: str, cents: int) -> Product:
    """Change the price of a product."""
    db.execute("UPDATE product SET cents = ? WHERE name = ?", (cents, get_product(db, name)["name"]))
    return get_product(db, name)


def restock(db: Connection, name: str, count: int) -> Product:
    """Add to the stock of a product."""
    db.execute("UPDATE product SET stock = stock + ? WHERE name = ?", (count, get_product(db, name)["name"]))
    return get_product(db, name)


def rename_product(db: Connection, name: str, new_name: str) -> Product:
    """Give a product another name."""
    db.execute("UPDATE product SET name = ? WHERE name = ?", (new_name, get_product(db, name)["name"]))
    return get_product(db, new_name)


def remove_product(db: Connection, name: str) -> str:
    """Take a product out of the shop, for good."""
    db.execute("DELETE FROM product WHERE name = ?", (get_product(db, name)["name"],))
    return f"{name} is gone"


def place_order(db: Connection, name: str, count: int, day: date) -> int:
    """Order a product, and return the number of the order."""
    if get_product(db, name)["stock"] < count:
        raise ValueError(f"there are only {get_product(db, name)['stock']} of {name!r}")
    restock(db, name, -count)
    cursor = db.execute("INSERT INTO placed (name, count, day) VALUES (?, ?, ?)", (name, count, day.isoformat()))
    return cursor.lastrowid or 0


def get_order(db: Connection, number: int) -> dict[str, Any]:
    """Look up one order."""
    for name, count, day in db.execute("SELECT name, count, day FROM placed WHERE rowid = ?", (number,)):
        return {"number": number, "name": name, "count": count, "day": date.fromisoformat(day)}
    raise LookupError(f"there is no order {number}")


def list_orders(db: Connection, since: date | None = None) -> list[dict[str, Any]]:
    """List the orders, or those since a day."""
    orders = [get_order(db, number) for (number,) in db.execute("SELECT rowid FROM placed").fetchall()]
    return [order for order in orders if since is None or order["day"] >= since]


def cancel_order(db: Connection, number: int) -> str:
    """Cancel an order, and put the products back."""
    order = get_order(db, number)
    restock(db, order["name"], order["count"])
    db.execute("DELETE FROM placed WHERE rowid = ?", (number,))
    return f"order {number} is cancelled"


def best_sellers(db: Connection, limit: int = 3) -> dict[str, int]:
    """Tell which products were ordered most."""
    query = "SELECT name, sum(count) AS total FROM placed GROUP BY name ORDER BY total DESC LIMIT ?"
    return dict(db.execute(query, (limit,)).fetchall())


# What is new: a catalog of the module.

READ: list[Callable[..., Any]] = [list_products, get_product, find_products, low_stock, stock_value]
READ += [get_order, list_orders, best_sellers]
WRITE: list[Callable[..., Any]] = [add_product, set_price, restock, rename_product, place_order]
FOR_GOOD: list[Callable[..., Any]] = [remove_product, cancel_order]


def shop_tools() -> Catalog:
    catalog = Catalog()
    for function in READ:
        catalog.tool(read_only=True, inject={"db": Connection})(function)
    for function in WRITE:
        catalog.tool(inject={"db": Connection})(function)
    for function in FOR_GOOD:
        catalog.tool(destructive=True, inject={"db": Connection})(function)
    return catalog


def connect(path: Path) -> Iterator[Connection]:
    """Open the database for one call. What a call has changed is kept only if it succeeds."""
    db = sqlite3.connect(path)
    try:
        with db:
            yield db
    finally:
        db.close()


async def serve(path: Path) -> None:
    catalog = shop_tools()
    resources = {Connection: partial(connect, path)}
    async with Dispatcher(catalog, permissions=Permissions("auto"), resources=resources) as shop:
        print(
            f"{len(catalog)} tools; a model sees of `get_product`: {list(catalog['get_product'].schema['properties'])}"
        )
        batch = [
            ("add_product", {"name": "tea", "cents": 450, "stock": 3}),
            ("place_order", {"name": "tea", "count": "2", "day": "2026-03-01"}),
            ("place_order", {"name": "tea", "count": 2, "day": "2026-03-02"}),
            ("list_orders", {"since": "2026-01-01"}),
            ("get_product", {"name": "coffee"}),
            ("set_price", {"name": "tea", "price": 500}),
        ]
        for result in await shop.call_many(batch):
            repaired = f" (repaired: {result.repairs[0]})" if result.repairs else ""
            print(f"{result.tool}: {result.kind}: {result.text.splitlines()[0]}{repaired}")
        waiting = await shop.call("cancel_order", {"number": 1})
        print(waiting.text)
        done = await shop.resume(waiting, Decision.approve(by="ada")) if waiting.request else waiting
        print(done.text, (await shop.call("get_product", {"name": "tea"})).value)


def main() -> None:
    logging.disable(logging.CRITICAL)  # the dispatcher logs exceptions of tools, with the traceback
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "shop.sqlite"
        db = sqlite3.connect(path)
        db.executescript("CREATE TABLE product (name UNIQUE, cents, stock); CREATE TABLE placed (name, count, day)")
        db.close()
        asyncio.run(serve(path))


if __name__ == "__main__":
    main()
