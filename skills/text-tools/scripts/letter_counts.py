from collections import Counter


def handler(args):
    letters = Counter(sign for sign in args["text"].lower() if sign.isalpha())
    return dict(letters.most_common(args.get("most", 5)))
