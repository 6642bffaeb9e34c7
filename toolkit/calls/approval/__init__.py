"""The approval of calls: the verdict, the request, the answer of a person, the claim and the outcome."""
